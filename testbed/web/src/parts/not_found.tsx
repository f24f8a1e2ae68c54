// The view at an unknown address, or of a page that the user may not open.

import { Notice, Title } from "./basics";

export function NotFound({ title = "Page not found", reason = "" }: { title?: string; reason?: string }) {
  return (
    <>
      <Title>{title}</Title>
      <Notice text={reason} />
      <p>
        <a href="#/">Go to the configurations</a>
      </p>
    </>
  );
}
