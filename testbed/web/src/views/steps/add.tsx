// The menu that adds things to a scenario, and the dialogs that ask for names and ends.

import { useState } from "react";
import {
  type Addition,
  type Draft,
  NETWORKS,
  newChange,
  newFlow,
  newHandover,
  newLink,
  newNetwork,
  newProxy,
  newService,
} from "../../data/additions";
import { unused } from "../../data/draft";
import { Field } from "../../parts/basics";
import { Modal } from "../../parts/dialog";
import { Menu } from "../../parts/menu";

export function AddMenu({
  draft,
  addHost,
  add,
}: {
  draft: Draft;
  /** Draws a host without a link. */
  addHost: (name: string) => void;
  add: (addition: Addition) => void;
}) {
  const [asked, setAsked] = useState<"host" | "link" | "flow" | null>(null);
  const close = () => setAsked(null);
  return (
    <>
      <Menu
        label="+ Add"
        groups={[
          {
            name: "Nodes and traffic",
            items: [
              { label: "Host", about: "sends or forwards", act: () => setAsked("host") },
              { label: "Link", about: "between two nodes", act: () => setAsked("link") },
              { label: "Flow", about: "a transfer", act: () => setAsked("flow") },
            ],
          },
          {
            name: "Network",
            items: NETWORKS.map(({ kind, about }) => ({
              label: kind,
              about,
              act: () => add(newNetwork(draft, kind)),
            })),
          },
          {
            name: "At a node",
            items: [
              { label: "Proxy", about: "split, snoop, ACKs", act: () => add(newProxy(draft)) },
              { label: "Service", about: "relay or bridge", act: () => add(newService(draft)) },
            ],
          },
          {
            name: "During the run",
            items: [
              { label: "Change", about: "of a rate, delay, …", act: () => add(newChange(draft)) },
              { label: "Handover", about: "to another link", act: () => add(newHandover(draft)) },
            ],
          },
        ]}
      />
      {asked === "host" && (
        <HostDialog
          draft={draft}
          close={close}
          done={(name, to) => {
            close();
            addHost(name);
            if (to) add(newLink(draft, name, to));
          }}
        />
      )}
      {asked === "link" && (
        <EndsDialog
          title="Add a link"
          draft={draft}
          close={close}
          done={(from, to) => {
            close();
            add(newLink(draft, from, to));
          }}
        />
      )}
      {asked === "flow" && (
        <EndsDialog
          title="Add a flow"
          draft={draft}
          close={close}
          done={(from, to) => {
            close();
            add(newFlow(draft, from, to));
          }}
        />
      )}
    </>
  );
}

function HostDialog({
  draft,
  close,
  done,
}: {
  draft: Draft;
  close: () => void;
  done: (name: string, to: string) => void;
}) {
  const [name, setName] = useState(() => unused("host", draft.nodes));
  const [to, setTo] = useState(draft.chosen[0] === "node" ? draft.chosen[1]! : "");
  const taken = draft.nodes.includes(name);
  return (
    <Modal title="Add a host" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!taken) done(name, to);
        }}
      >
        <Field
          label="Name"
          help="A letter, then letters, digits, _ or -."
          problem={taken ? `A node named ${name} already exists: choose another name.` : ""}
        >
          {(id, described) => (
            <input
              id={id}
              aria-describedby={described}
              aria-invalid={taken || undefined}
              value={name}
              required
              pattern="[A-Za-z][A-Za-z0-9_\-]*"
              title="A letter, then letters, digits, _ or -"
              maxLength={60}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Choice label="Link to" value={to} among={draft.nodes} choose={setTo} none="no node yet" />
        <p className="help">The scenario includes the host after its first link.</p>
        <DialogButtons close={close} action="Add" />
      </form>
    </Modal>
  );
}

function EndsDialog({
  title,
  draft,
  close,
  done,
}: {
  title: string;
  draft: Draft;
  close: () => void;
  done: (from: string, to: string) => void;
}) {
  // Without two nodes, the ends are new hosts.
  const known = [...draft.nodes];
  while (known.length < 2) known.push(unused("host", known));
  const [from, setFrom] = useState(draft.chosen[0] === "node" ? draft.chosen[1]! : known[0]!);
  const [to, setTo] = useState("");
  const others = known.filter((one) => one !== from);
  const end = others.includes(to) ? to : others[0]!;
  return (
    <Modal title={title} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          done(from, end);
        }}
      >
        <Choice label="From" value={from} among={known} choose={setFrom} />
        <Choice label="To" value={end} among={others} choose={setTo} />
        <DialogButtons close={close} action="Add" />
      </form>
    </Modal>
  );
}

function DialogButtons({ close, action }: { close: () => void; action: string }) {
  return (
    <div className="row">
      <button type="button" onClick={close}>
        Cancel
      </button>
      <button type="submit" className="primary">
        {action}
      </button>
    </div>
  );
}

function Choice({
  label,
  value,
  among,
  choose,
  none,
}: {
  label: string;
  value: string;
  among: string[];
  choose: (value: string) => void;
  none?: string;
}) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => choose(event.target.value)}>
          {none && <option value="">{none}</option>}
          {among.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
    </Field>
  );
}
