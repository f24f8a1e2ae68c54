// The list of configurations, and the form for a new one.

import { useMemo, useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { Brief, Draft, Full, SessionUser, Template } from "../data/api.gen";
import { when } from "../data/format";
import { go, link, message, useLoaded } from "../data/state";
import { Field, Notice, ScrollRegion, Title } from "../parts/basics";
import { ask, confirmed } from "../parts/dialog";

export function Configurations({ user }: { user: SessionUser }) {
  const { value, error, reload } = useLoaded<Brief[]>("/configurations");
  const { failure, success, perform } = useActions(reload);
  const guest = user.level === "guest";
  return (
    <>
      <Title>Configurations</Title>
      <Notice text={error || failure} />
      <Notice text={success} kind="good" />
      {!guest && <NewConfiguration names={(value ?? []).map((one) => one.name)} />}
      {value?.length === 0 && <p className="soft">No configurations yet.</p>}
      {value && value.length > 0 && (
        <ScrollRegion label="Configurations">
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th>Owner</th>
                <th>Shared</th>
                <th>Last changed</th>
                <th>
                  <span className="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {value.map((one) => (
                <tr key={one.id}>
                  <th scope="row">
                    <a href={link(["configuration", one.id])}>{one.name}</a>
                  </th>
                  <td>{one.owner}</td>
                  <td>{one.shared ? "yes" : "no"}</td>
                  <td>{when(one.changed)}</td>
                  <td className="actions">
                    {!guest && (
                      <button
                        type="button"
                        onClick={() => perform(fork(one))}
                        aria-label={`Fork ${one.name}`}
                      >
                        Fork
                      </button>
                    )}
                    {one.mine && (
                      <>
                        <button
                          type="button"
                          onClick={() =>
                            perform(
                              api.put(`/configurations/${one.id}`, {
                                version: one.version,
                                shared: !one.shared,
                              }),
                              one.shared
                                ? `${one.name} is no longer shared.`
                                : `${one.name} is shared: everyone with an account on this test bed can view and fork it.`,
                            )
                          }
                          aria-label={`${one.shared ? "Stop sharing" : "Share"} ${one.name}`}
                        >
                          {one.shared ? "Stop sharing" : "Share"}
                        </button>
                        <button
                          type="button"
                          onClick={() =>
                            void confirmed({
                              title: `Remove "${one.name}"?`,
                              about: "Its runs are kept.",
                              action: "Remove",
                              destructive: true,
                            }).then(
                              (yes) =>
                                yes &&
                                void perform(
                                  api.remove(`/configurations/${one.id}`),
                                  `${one.name} was removed.`,
                                ),
                            )
                          }
                          aria-label={`Remove ${one.name}`}
                        >
                          Remove
                        </button>
                      </>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </>
  );
}

async function fork(one: Brief): Promise<void> {
  const name = await ask({
    title: `Copy "${one.name}"`,
    action: "Copy",
    field: { label: "Name of your copy", value: `${one.name} (copy)` },
  });
  if (!name) return;
  const made = await api.post<Full>(`/configurations/${one.id}/fork`, { name });
  go(["configuration", made.id]);
}

function NewConfiguration({ names }: { names: string[] }) {
  const { value } = useLoaded<Template[]>("/templates");
  const [template, setTemplate] = useState("");
  const [failure, setFailure] = useState("");
  const [busy, setBusy] = useState(false);
  const chosen = useMemo(() => value?.find((one) => one.name === template) ?? value?.[0], [value, template]);
  const free = (wanted: string) => {
    let name = wanted;
    for (let count = 2; names.includes(name); count++) name = `${wanted} ${count}`;
    return name;
  };
  const create = async (wanted: string, text: () => Promise<string>) => {
    setBusy(true);
    setFailure("");
    try {
      const made = await api.post<Full>("/configurations", { name: free(wanted), text: await text() });
      go(["configuration", made.id]);
    } catch (error) {
      setFailure(message(error));
      setBusy(false);
    }
  };
  const upload = (files: FileList | null) => {
    const file = files?.[0];
    if (file) void create(file.name.replace(/\.toml$/i, "").slice(0, 100) || "Uploaded", () => file.text());
  };
  return (
    <section aria-labelledby="start" className="panel">
      <h2 id="start">New configuration</h2>
      <div className="row">
        <Field label="Template" help={chosen?.about}>
          {(id, described) => (
            <select
              id={id}
              aria-describedby={described}
              value={chosen?.name ?? ""}
              onChange={(event) => setTemplate(event.target.value)}
            >
              {KINDS.map(([kind, label]) => (
                <optgroup key={kind} label={label}>
                  {value
                    ?.filter((one) => one.kind === kind)
                    .map((one) => (
                      <option key={one.name} value={one.name}>
                        {one.name}
                      </option>
                    ))}
                </optgroup>
              ))}
            </select>
          )}
        </Field>
        <button
          type="button"
          className="primary"
          disabled={busy || !chosen}
          onClick={() =>
            chosen &&
            void create(chosen.name === "blank" ? "My scenario" : chosen.name, async () => {
              return (await api.get<Draft>(`/templates/${chosen.name}`)).text;
            })
          }
        >
          Create
        </button>
        <label className="button">
          Upload TOML
          <input
            type="file"
            accept=".toml"
            className="hidden"
            onChange={(event) => {
              upload(event.target.files);
              // Allows the same file to be chosen again.
              event.target.value = "";
            }}
          />
        </label>
      </div>
      <Notice text={failure} />
    </section>
  );
}

const KINDS = [
  ["experiment", "Experiments"],
  ["gallery", "Gallery"],
  ["preset", "Presets"],
  ["blank", "Blank"],
] as const;
