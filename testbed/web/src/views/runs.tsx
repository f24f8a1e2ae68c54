// All runs, or the runs and the means of one launch.

import { link, usePlace } from "../data/state";
import { Title } from "../parts/basics";
import { MeansOfLaunch } from "../parts/means";
import { RunList } from "../parts/run_list";

/** All runs, or with the address parameter `batch` the runs and the means of one launch. */
export function Runs() {
  const { values } = usePlace();
  const batch = values.get("batch") ?? "";
  const part = values.get("part") === "means" ? "means" : "runs";
  if (!batch) {
    return (
      <>
        <Title>Runs</Title>
        <RunList />
      </>
    );
  }
  return (
    <>
      <Title part={part}>Runs of one launch</Title>
      <nav className="tabs" aria-label="Launch">
        {["runs", "means"].map((one) => (
          <a
            key={one}
            href={link(["runs"], { batch, part: one === "runs" ? undefined : one })}
            aria-current={part === one ? "page" : undefined}
          >
            {one}
          </a>
        ))}
      </nav>
      {part === "means" ? <MeansOfLaunch batch={batch} /> : <RunList batch={batch} />}
    </>
  );
}
