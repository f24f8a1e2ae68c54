// The editor of a scenario: TOML with completion, descriptions of keys, and the loader's problems.

import {
  autocompletion,
  type CompletionContext,
  closeBrackets,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, EditorState, type Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import { description, headerOffers, keyOffers, type Offer, schemaAt, valueOffers } from "../data/known";
import { type Problem, problemText } from "../data/problem";
import { isTable, type Schema } from "../data/schema";
import { type Path, parsed, placeIn, positionOf, tableAt, valueAt } from "../data/toml";
import "./toml_editor.css";

/** The operations of the editor for the page. */
export interface EditorHandle {
  /** Replaces the text. The change can be undone. */
  replace: (text: string) => void;
  /** Moves the cursor to an entity, and shows its line. */
  reveal: (path: string[]) => void;
}

interface Given {
  /** The accessible name of the text. */
  label: string;
  text: string;
  schema: Schema;
  problems: Problem[];
  /** Receives each changed text. Without it, the text cannot be changed. */
  change?: (text: string) => void;
  /** The action of Ctrl+Enter, such as a run. */
  run?: () => void;
  handle?: Ref<EditorHandle>;
  /** True if the page has its own history, which includes the text. */
  sharedHistory?: boolean;
}

export function TomlEditor({ label, text, schema, problems, change, run, handle, sharedHistory }: Given) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const calls = useRef({ change, run });
  calls.current = { change, run };
  const readOnly = change === undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is the initial one
  useEffect(() => {
    const made = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          keymap.of([
            {
              key: "Mod-Enter",
              run: () => {
                calls.current.run?.();
                return calls.current.run !== undefined;
              },
            },
          ]),
          lineNumbers(),
          lintGutter(),
          ...(sharedHistory ? [] : [history(), keymap.of(historyKeymap)]),
          EditorState.readOnly.of(readOnly),
          EditorView.editable.of(!readOnly),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          highlightSelectionMatches(),
          StreamLanguage.define(toml),
          syntaxHighlighting(COLOURS),
          autocompletion({ override: [(context) => completions(context, schema)] }),
          hoverTooltip((of, position) => help(of.state.doc, position, schema)),
          keymap.of([...defaultKeymap, ...searchKeymap, ...completionKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": String(readOnly) }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((one) => one.annotation(FROM_PAGE)))
              calls.current.change?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    // The keyboard scrolls focusable elements only.
    made.scrollDOM.tabIndex = 0;
    view.current = made;
    return () => made.destroy();
  }, [schema, label, readOnly, sharedHistory]);
  // The text has changed elsewhere, such as in a form. Only the different part is replaced, so that
  // the cursor stays.
  useEffect(() => {
    const of = view.current;
    const now = of?.state.doc.toString();
    if (!of || now === undefined || now === text) return;
    let start = 0;
    while (start < now.length && now[start] === text[start]) start++;
    let [end, last] = [now.length, text.length];
    while (end > start && last > start && now[end - 1] === text[last - 1]) {
      end--;
      last--;
    }
    of.dispatch({
      changes: { from: start, to: end, insert: text.slice(start, last) },
      annotations: FROM_PAGE.of(true),
    });
  }, [text]);
  useEffect(() => {
    const of = view.current;
    if (of)
      of.dispatch(
        setDiagnostics(
          of.state,
          problems.map((one) => diagnostic(of.state.doc, one)),
        ),
      );
  }, [problems]);
  useImperativeHandle(handle, () => ({
    replace: (next) => {
      const of = view.current;
      of?.dispatch({ changes: { from: 0, to: of.state.doc.length, insert: next } });
    },
    reveal: (path) => {
      const of = view.current;
      const known = of && parsed(of.state.doc.toString(), of.state.selection.main.head);
      const found = known && positionOf(known, path);
      if (found === undefined) return;
      const line = of!.state.doc.lineAt(found);
      of!.dispatch({
        selection: { anchor: line.from, head: line.to },
        effects: EditorView.scrollIntoView(found, { y: "center" }),
      });
      of!.focus();
    },
  }));
  return <div className="editor" ref={place} />;
}

/** Marks changes of the text that the page has made, not the user. */
const FROM_PAGE = Annotation.define<boolean>();

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--blue)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--warn)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);

/** The place of a problem in the editor: its value or the end of its line. */
function diagnostic(doc: Text, problem: Problem): Diagnostic {
  const number = Math.min(problem.line ?? 1, doc.lines);
  const line = doc.line(Math.max(1, number));
  const indent = line.text.length - line.text.trimStart().length;
  const path = problem.path ? `${problem.path}: ` : "";
  return { from: line.from + indent, to: line.to, severity: "error", message: path + problemText(problem) };
}

function completions(context: CompletionContext, schema: Schema) {
  const { state, pos } = context;
  const line = state.doc.lineAt(pos);
  const place = placeIn(line.text.slice(0, pos - line.from));
  const known = parsed(state.doc.toString(), pos);
  if (!place || !known || (place.typed === "" && place.kind === "header" && !context.explicit)) return null;
  const { values } = known;
  const above: Path = place.kind === "header" ? [] : tableAt(known, pos);
  const path = [...above, ...place.path];
  const present = valueAt(values, path);
  let offers: Offer[];
  if (place.kind === "header") offers = headerOffers(schema, path, values);
  else if (place.kind === "key") offers = keyOffers(schema, path, values, isTable(present) ? present : {});
  else offers = valueOffers(schema, path, values);
  // The editor closes quotes; a completed text replaces the closing one.
  const to = place.typed.startsWith('"') && state.doc.sliceString(pos, pos + 1) === '"' ? pos + 1 : pos;
  return {
    from: pos - place.typed.length,
    to,
    options: offers.map((one) => ({
      label: one.label,
      apply: one.insert,
      detail: one.detail,
      info: one.about,
    })),
    validFor: /^["\w-]*$/,
  };
}

function help(doc: Text, position: number, schema: Schema) {
  const known = parsed(doc.toString(), position);
  const found = known?.entries.find((one) => one.key[0] <= position && position <= one.key[1]);
  const header = known?.headers.find(
    (one) => doc.lineAt(one.from).number === doc.lineAt(position).number && one.from <= position,
  );
  const path = found?.path ?? header?.path;
  const one = path && known && schemaAt(schema, path, known.values);
  if (!one) return null;
  const [pos, end] = found?.key ?? [header!.from, doc.lineAt(header!.from).to];
  return {
    pos,
    end,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "help-text";
      dom.textContent = description(one, schema);
      return { dom };
    },
  };
}
