// A multiple choice among names, as check boxes in a collapsible list.

/** Check boxes for `names`, of which at least `least` and at most `most` can be chosen. `choose`
 * gets the new choice. */
export function Choices({
  title,
  legend,
  names,
  chosen,
  choose,
  least = 0,
  most = Infinity,
}: {
  title: string;
  legend: string;
  names: string[];
  chosen: string[];
  choose: (chosen: string[]) => void;
  least?: number;
  most?: number;
}) {
  return (
    <details>
      <summary>{title}</summary>
      <fieldset className="many">
        <legend className="hidden">{legend}</legend>
        {names.map((one) => {
          const checked = chosen.includes(one);
          return (
            <label key={one} className="check">
              <input
                type="checkbox"
                checked={checked}
                disabled={checked ? chosen.length <= least : chosen.length >= most}
                onChange={() => choose(checked ? chosen.filter((other) => other !== one) : [...chosen, one])}
              />
              {one}
            </label>
          );
        })}
      </fieldset>
    </details>
  );
}
