/** Loads the engine once per page, from the file engine.js. */

declare global {
  interface Window {
    /** The module as gzip in base64, set by engine.js. */
    bentpipeEngine?: string;
  }
}

/** The folder of engine.js is that of the classic script that runs now, or that of the page. */
const here = (document.currentScript as HTMLScriptElement | null)?.src ?? location.href;

let module: Promise<WebAssembly.Module> | undefined;

async function load(): Promise<WebAssembly.Module> {
  await new Promise<void>((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("engine.js", here).href;
    script.onload = () => resolve();
    script.onerror = () => reject(new Error(`The file ${script.src} is missing.`));
    document.head.append(script);
  });
  const text = window.bentpipeEngine;
  if (!text) throw new Error("The file engine.js contains no engine.");
  window.bentpipeEngine = undefined;
  return decoded(text);
}

/**
 * Decodes the module. It is gzip in base64, because a page that is opened from a file cannot fetch
 * other files.
 */
async function decoded(base64: string): Promise<WebAssembly.Module> {
  const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** Loads and compiles the engine, unless this has been done. A failure can be tried again. */
export function compiled(): Promise<WebAssembly.Module> {
  module ??= load().catch((error: unknown) => {
    module = undefined;
    throw error;
  });
  return module;
}
