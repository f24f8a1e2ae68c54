// A scenario in the fragment of the page's address, compressed.

/** The name of the parameter in the fragment. */
const KEY = "scenario=";

/** Returns the fragment that contains a text. */
export async function toFragment(text: string): Promise<string> {
  const bytes = new Uint8Array(await piped(new Blob([text]), new CompressionStream("deflate-raw")));
  const binary = Array.from(bytes, (one) => String.fromCharCode(one)).join("");
  return `#${KEY}${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/**
 * Returns the text of a fragment; undefined if the fragment contains no text. Rejects a damaged
 * fragment.
 */
export async function fromFragment(fragment: string): Promise<string | undefined> {
  if (!fragment.startsWith(`#${KEY}`)) return undefined;
  const binary = atob(
    fragment
      .slice(KEY.length + 1)
      .replaceAll("-", "+")
      .replaceAll("_", "/"),
  );
  const bytes = Uint8Array.from(binary, (one) => one.charCodeAt(0));
  return new TextDecoder().decode(await piped(new Blob([bytes]), new DecompressionStream("deflate-raw")));
}

function piped(blob: Blob, through: CompressionStream | DecompressionStream): Promise<ArrayBuffer> {
  return new Response(blob.stream().pipeThrough(through)).arrayBuffer();
}
