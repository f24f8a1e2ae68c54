// A button that opens a menu. Arrow keys move in the menu, Escape closes it.

import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import "./menu.css";

export interface Item {
  label: string;
  about?: string;
  act: () => void;
}

function itemsOf(menu: HTMLElement): HTMLButtonElement[] {
  return [...menu.querySelectorAll<HTMLButtonElement>("[role=menuitem]")];
}

export function Menu({ label, groups }: { label: string; groups: { name: string; items: Item[] }[] }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    itemsOf(place.current!)[0]?.focus();
    const away = (event: PointerEvent) => {
      if (!place.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const all = itemsOf(place.current!);
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const next = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: (at - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      all[next]?.focus();
    } else if (event.key === "Escape") close();
    else if (event.key === "Tab") setOpen(false);
  };
  return (
    <div className="menu" ref={place}>
      <button
        type="button"
        className="primary"
        ref={button}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        <div id={id} role="menu" aria-label={label} tabIndex={-1} onKeyDown={move}>
          {groups.map((group) => (
            // biome-ignore lint/a11y/useSemanticElements: a group of a menu is no fieldset
            <div key={group.name} role="group" aria-label={group.name}>
              <p className="soft" aria-hidden="true">
                {group.name}
              </p>
              {group.items.map((one) => (
                <button
                  type="button"
                  role="menuitem"
                  key={one.label}
                  tabIndex={-1}
                  onClick={() => {
                    close();
                    one.act();
                  }}
                >
                  <span>{one.label}</span>
                  {one.about && <small className="soft">{one.about}</small>}
                </button>
              ))}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
