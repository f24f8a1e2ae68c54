/**
 * Engines for pages of the site. Their worker is part of the script, because pages may be opened
 * from files.
 */
import { Client } from "../engine/client";
import { compiled } from "../engine/loading";
import EngineWorker from "../engine/worker?worker&inline";

/** Returns an engine of its own for one block, so that blocks do not cancel the runs of others. */
export async function client(): Promise<Client> {
  return new Client(await compiled(), () => new EngineWorker());
}
