// A multiple choice among names, as check boxes in a collapsible list.

/** Check boxes for `names`, of which at least `min` and at most `max` can be chosen. `choose`
 * gets the new choice. */
export function Choices({
  title,
  legend,
  names,
  chosen,
  choose,
  min = 0,
  max = Infinity,
}: {
  title: string;
  legend: string;
  names: string[];
  chosen: string[];
  choose: (chosen: string[]) => void;
  min?: number;
  max?: number;
}) {
  return (
    <details>
      <summary>{title}</summary>
      <fieldset className="choices">
        <legend className="hidden">{legend}</legend>
        {names.map((one) => {
          const checked = chosen.includes(one);
          return (
            <label key={one} className="check">
              <input
                type="checkbox"
                checked={checked}
                disabled={checked ? chosen.length <= min : chosen.length >= max}
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
