/** The engine of a page: loaded once, from the file engine.js next to this script. */
import { element } from "../data/element";
import { Client, decoded } from "../engine/client";

declare global {
  interface Window {
    /** The module as gzip in base64, set by engine.js. */
    bentpipeEngine?: string;
  }
}

const here = (document.currentScript as HTMLScriptElement | null)?.src ?? location.href;

let module: Promise<WebAssembly.Module> | undefined;

async function load(): Promise<WebAssembly.Module> {
  await new Promise<void>((resolve, reject) => {
    const src = new URL("engine.js", here).href;
    const onerror = () => reject(new Error(`The file ${src} is missing.`));
    document.head.append(element("script", { src, onload: () => resolve(), onerror }));
  });
  const text = window.bentpipeEngine;
  if (!text) throw new Error("The file engine.js contains no engine.");
  window.bentpipeEngine = undefined;
  return decoded(text);
}

/** Loads and compiles the engine, unless this has been done. A failure can be tried again. */
export function compiled(): Promise<WebAssembly.Module> {
  module ??= load().catch((error: unknown) => {
    module = undefined;
    throw error;
  });
  return module;
}

/** Returns an engine of its own for one block, so that blocks do not cancel the runs of others. */
export async function client(): Promise<Client> {
  return new Client(await compiled());
}
