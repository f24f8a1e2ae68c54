// The button next to a key that adds the key to the campaign.

import { createContext, useContext } from "react";
import "./vary.css";

const Vary = createContext<((key: string) => void) | null>(null);

/** Provides the function that opens the campaign with a key. */
export const VaryOf = Vary.Provider;

/** The button that varies a key of a form; nothing where no campaign can be edited. */
export function VaryButton({ at }: { at: string }) {
  const vary = useContext(Vary);
  if (!vary) return null;
  return (
    <button
      type="button"
      className="vary"
      aria-label={`Vary ${at} in a campaign`}
      title="Vary this key in a campaign"
      onClick={() => vary(at)}
    >
      vary
    </button>
  );
}
