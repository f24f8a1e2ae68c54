// The card of a configuration: its picture, purpose and last result, and its actions.

import { api } from "../data/api";
import type { Brief, Full } from "../data/api.gen";
import { rateText, rounded, when } from "../data/format";
import { go, link } from "../data/state";
import { ask, confirmed } from "./dialog";
import { Marks } from "./marks";
import { More } from "./more";
import { audienceOf, Sharing, sharedWith } from "./sharing";
import { Thumbnail } from "./thumbnail";
import "./cards.css";

export function ConfigurationCard({
  one,
  guest,
  perform,
}: {
  one: Brief;
  guest: boolean;
  perform: (work: Promise<unknown>, confirmation?: string) => Promise<void>;
}) {
  return (
    <li className="card">
      <Thumbnail of={one.picture} />
      <div className="body">
        <h3>
          <a className="open" href={link(["configuration", one.id])}>
            {one.name}
          </a>
        </h3>
        {one.about && <p className="about">{one.about}</p>}
        <Last one={one} />
        {(one.tags.length > 0 || one.shared || one.course) && (
          <p>
            {one.shared && <span className="badge">shared</span>}
            {one.course && <span className="badge">shared with {one.course}</span>}
            {one.tags.map((tag) => (
              <span key={tag} className="tag">
                {tag}
              </span>
            ))}
          </p>
        )}
        <div className="foot">
          <span>
            {one.mine ? "" : `${one.owner}, `}changed {day(one.changed)}
          </span>
          {!guest && (
            <span className="above">
              <More label={`Actions of ${one.name}`}>
                <button type="button" onClick={() => void perform(saveAs(one))}>
                  Save as…
                </button>
                {one.mine && <OwnActions one={one} perform={perform} />}
              </More>
            </span>
          )}
        </div>
      </div>
    </li>
  );
}

function OwnActions({
  one,
  perform,
}: {
  one: Brief;
  perform: (work: Promise<unknown>, confirmation?: string) => Promise<void>;
}) {
  const change = (values: object) =>
    api.put<Full>(`/configurations/${one.id}`, { version: one.version, ...values });
  const remove = async () => {
    const question = {
      title: `Remove "${one.name}"?`,
      about: "Its runs are kept.",
      action: "Remove",
      destructive: true,
    };
    if (await confirmed(question))
      await perform(api.remove(`/configurations/${one.id}`), `${one.name} was removed.`);
  };
  const rename = async () => {
    const field = { label: "New name", value: one.name };
    const name = await ask({ title: `Rename "${one.name}"`, action: "Rename", field });
    if (name && name !== one.name) await perform(change({ name }), `${one.name} is now ${name}.`);
  };
  const tag = async () => {
    const tags = await ask({
      title: `Tags of "${one.name}"`,
      about: "Words separated by spaces, such as figure-17. The list can be filtered by tags.",
      action: "Save",
      field: { label: "Tags", value: one.tags.join(" "), optional: true },
    });
    if (tags !== null) await perform(change({ tags: tags.split(/[\s,]+/).filter(Boolean) }));
  };
  return (
    <>
      <button type="button" onClick={() => void rename()}>
        Rename…
      </button>
      <button type="button" onClick={() => void tag()}>
        Tags…
      </button>
      <Sharing
        key={audienceOf(one)}
        name={one.name}
        now={audienceOf(one)}
        share={(to, text) =>
          void perform(
            change(sharedWith(to)),
            to === "nobody"
              ? `${one.name} is no longer shared.`
              : `${one.name} is shared with ${text}, who can view it and save copies.`,
          )
        }
      />
      <button type="button" onClick={() => void remove()}>
        Remove…
      </button>
    </>
  );
}

/** The last result: goodput, or the mean opinion score of calls, with the marks of its run. */
function Last({ one: { last } }: { one: Brief }) {
  if (!last) return <p className="last soft">No results yet</p>;
  const goodput = last.goodput === null ? "" : `${rateText(last.goodput).join(" ")} goodput`;
  const mos = last.mos === null ? "" : `MOS ${rounded(last.mos)}`;
  return (
    <p className="last above">
      <a
        href={link(["runs", last.id])}
        title={`Run ${last.number}, ended ${when(last.ended)}; goodput is the sum over its flows`}
      >
        {[goodput, mos].filter(Boolean).join(", ") || `Run ${last.number}`}
      </a>{" "}
      <span className="soft">
        {last.instrument}, {day(last.ended)}
      </span>
      <Marks run={last} />
    </p>
  );
}

/** The time of today, or the date of an earlier day. */
function day(seconds: number | null): string {
  if (seconds === null) return "";
  const at = new Date(seconds * 1000);
  const today = at.toDateString() === new Date().toDateString();
  return today
    ? at.toLocaleTimeString([], { timeStyle: "short" })
    : at.toLocaleDateString([], { dateStyle: "medium" });
}

async function saveAs(one: Brief): Promise<void> {
  const name = await ask({
    title: `Save "${one.name}" as`,
    action: "Save",
    field: { label: "Name of the copy", value: `${one.name} (copy)` },
  });
  if (!name) return;
  const made = await api.post<Full>(`/configurations/${one.id}/fork`, { name });
  go(["configuration", made.id]);
}
