// The panel of a link. That of a link over a satellite has sections for channel, errors, fade and
// access.

import { type Addition, onDemand } from "../../data/additions";
import type { Edit } from "../../data/draft";
import type { Schema, Table } from "../../data/schema";
import { isSatelliteLink, tablesOf } from "../../data/things";
import { Panel } from "../../parts/panel";
import { Section } from "./section";

/** The sections of a satellite link, with their keys. */
const SECTIONS: [string, string[]][] = [
  ["Channel", ["rate", "delay", "queue"]],
  ["Errors", ["error"]],
  ["Fade", ["acm", "trace"]],
  ["Access", ["contacts"]],
  ["Return direction", ["return"]],
];

export function LinkPanel({
  path,
  ...given
}: {
  path: string[];
  schema: Schema;
  data: Table;
  edit?: Edit;
  stale: boolean;
  add: (addition: Addition) => void;
}) {
  const { data, edit, add } = given;
  const link = tablesOf(data, "link").find((one) => one.name === path[1]);
  if (!link || !isSatelliteLink(link)) return <Panel path={path} {...given} />;
  return (
    <>
      {SECTIONS.map(([title, keys]) => (
        <Section key={title} title={title}>
          {title === "Access" && (
            <p className="help">
              The link is a carrier of its own.{" "}
              {edit && (
                <button type="button" onClick={() => add(onDemand(link))}>
                  Share it on demand (DVB-RCS)
                </button>
              )}
            </p>
          )}
          <Panel path={path} only={keys} {...given} />
        </Section>
      ))}
      <Section title="Ends and other keys" folded>
        <Panel path={path} except={SECTIONS.flatMap(([, keys]) => keys)} {...given} />
      </Section>
    </>
  );
}
