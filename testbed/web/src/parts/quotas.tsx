// Bars of the use of an account's limits.

import type { Quota } from "../data/api.gen";
import { rounded } from "../data/format";
import "./quotas.css";

const LABELS: Record<Quota["name"], string> = {
  queued: "Waiting and running runs",
  runs: "Stored runs",
  configurations: "Configurations",
  stored: "Files of runs",
};

/** The bars of an account. Only those with `names` are shown. */
export function Quotas({ of, names }: { of: Quota[]; names?: Quota["name"][] }) {
  return (
    <dl className="quotas">
      {of
        .filter((one) => one.limit > 0 && (!names || names.includes(one.name)))
        .map((one) => (
          <div key={one.name}>
            <dt>{LABELS[one.name]}</dt>
            <dd>
              <meter
                aria-label={LABELS[one.name]}
                min={0}
                max={one.limit}
                high={0.8 * one.limit}
                optimum={0}
                value={one.used}
              />
              <span>
                {amount(one, one.used)} of {amount(one, one.limit)}
              </span>
            </dd>
          </div>
        ))}
    </dl>
  );
}

function amount(of: Quota, value: number): string {
  if (of.name !== "stored") return value.toLocaleString("en");
  return value >= 1e9 ? `${rounded(value / 1e9)} GB` : `${rounded(value / 1e6)} MB`;
}
