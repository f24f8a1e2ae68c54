// The workbench: cards of configurations, and templates for new ones.

import { useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { Brief, Draft, Full, SessionUser, Template } from "../data/api.gen";
import { freeName } from "../data/copies";
import { go, message, useLoaded, useValue } from "../data/state";
import { Field, Notice, Title } from "../parts/basics";
import { ConfigurationCard } from "../parts/configuration_card";
import { Templates } from "../parts/templates";

/** Number of cards that are shown before the user asks for more. */
const FIRST = 24;

export function Configurations({ user }: { user: SessionUser }) {
  const { value, error, reload } = useLoaded<Brief[]>("/configurations");
  const { failure, success, perform } = useActions(reload);
  const [search, setSearch] = useValue("search");
  const [tag, setTag] = useValue("tag");
  const [most, setMost] = useState(FIRST);
  const creation = useCreation((value ?? []).filter((one) => one.mine).map((one) => one.name));
  const guest = user.level === "guest";
  const tags = [...new Set((value ?? []).flatMap((one) => one.tags))].sort();
  const words = search.toLowerCase();
  const found = (value ?? []).filter(
    (one) =>
      (!tag || one.tags.includes(tag)) &&
      `${one.name} ${one.owner} ${one.about} ${one.tags.join(" ")}`.toLowerCase().includes(words),
  );
  return (
    <>
      <div className="heading">
        <Title>Configurations</Title>
        <span className="grow" />
        {!guest && <NewConfiguration creation={creation} />}
      </div>
      <Notice text={error || failure || creation.failure} />
      <Notice text={success} kind="good" />
      <div className="row">
        <Field label="Search configurations and templates">
          {(id) => (
            <input id={id} type="search" value={search} onChange={(event) => setSearch(event.target.value)} />
          )}
        </Field>
      </div>
      {tags.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset would be a form
        <div className="chips" role="group" aria-label="Tags">
          {tags.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === tag}
              onClick={() => setTag(one === tag ? "" : one)}
            >
              {one}
            </button>
          ))}
        </div>
      )}
      {value && found.length === 0 && (
        <p className="soft">
          {value.length > 0
            ? "No matching configurations."
            : guest
              ? "Nobody has shared a configuration yet."
              : "No configurations yet. Start from a template below."}
        </p>
      )}
      <ul className="cards" aria-label="Configurations">
        {found.slice(0, most).map((one) => (
          <ConfigurationCard key={one.id} one={one} guest={guest} perform={perform} />
        ))}
      </ul>
      {found.length > most && (
        <button type="button" onClick={() => setMost(found.length)}>
          Show all {found.length}
        </button>
      )}
      {!guest && (
        <Templates search={search} busy={creation.busy} use={(template) => void creation.use(template)} />
      )}
    </>
  );
}

/** Functions that create a configuration and open it, from a template or from a file. */
function useCreation(taken: string[]) {
  const [failure, setFailure] = useState("");
  const [busy, setBusy] = useState(false);
  const create = async (wanted: string, text: () => Promise<string>) => {
    setBusy(true);
    setFailure("");
    try {
      const body = { name: freeName(wanted, taken), text: await text() };
      const made = await api.post<Full>("/configurations", body);
      go(["configuration", made.id]);
    } catch (error) {
      setFailure(message(error));
      setBusy(false);
    }
  };
  const use = ({ name, title }: Pick<Template, "name" | "title">) =>
    create(title, async () => {
      return (await api.get<Draft>(`/templates/${name}`)).text;
    });
  const upload = (file: File) =>
    create(file.name.replace(/\.toml$/i, "").slice(0, 100) || "Uploaded", () => file.text());
  return { failure, busy, use, upload };
}

function NewConfiguration({ creation }: { creation: ReturnType<typeof useCreation> }) {
  return (
    <>
      <button
        type="button"
        className="primary"
        disabled={creation.busy}
        onClick={() => void creation.use({ name: "blank", title: "My scenario" })}
      >
        New blank
      </button>
      <label className="button">
        Upload TOML
        <input
          type="file"
          accept=".toml"
          className="hidden"
          onChange={(event) => {
            const file = event.target.files?.[0];
            if (file) void creation.upload(file);
            // Allows the same file to be chosen again.
            event.target.value = "";
          }}
        />
      </label>
    </>
  );
}
