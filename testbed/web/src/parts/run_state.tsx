// The state of a run: its place in the queue, its progress, or its end.

import type { Entry } from "../data/api.gen";
import { duration } from "../data/format";
import { Progress } from "./basics";

export function State({ run }: { run: Entry }) {
  if (run.state === "queued") {
    return (
      <>
        queued{run.position !== null && `, position ${run.position}`}
        {run.expected !== null && run.expected > 2 && (
          <span className="soft"> (starts in about {duration(run.expected)})</span>
        )}
      </>
    );
  }
  if (run.state === "running" || run.state === "leased")
    return <Progress value={run.progress} label={`Progress of run ${run.number}`} />;
  return <span className={`state ${run.state}`}>{run.state}</span>;
}
