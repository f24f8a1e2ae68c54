// Requests to the REST interface, which /api/openapi.json describes.

import { connected, isGatewayError, markDisconnected } from "./connection";
import { loggedIn } from "./session";

/** An unsuccessful response: its HTTP status (0 if there was no response), and a message for the
 * user. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const NO_RESPONSE =
  "The test bed does not respond, so the change was not made. Your input is kept: try again when the connection is restored.";

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(`/api${path}`, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    text = answer.status === 204 ? "" : await answer.text();
  } catch {
    markDisconnected();
    throw new Refusal(0, NO_RESPONSE);
  }
  if (answer.status === 204) return undefined as T;
  let parsed: { detail?: string };
  try {
    parsed = JSON.parse(text) as { detail?: string };
  } catch {
    if (isGatewayError(answer.status)) {
      markDisconnected();
      throw new Refusal(0, NO_RESPONSE);
    }
    throw new Refusal(
      answer.status,
      `Internal error of the test bed (status ${answer.status}). Try again. If the error persists, contact your administrator.`,
    );
  }
  if (!answer.ok) {
    if (answer.status === 401 && path !== "/session") {
      await loggedIn();
      return request<T>(method, path, body);
    }
    throw new Refusal(
      answer.status,
      parsed.detail ??
        `Internal error of the test bed (status ${answer.status}). Try again. If the error persists, contact your administrator.`,
    );
  }
  return parsed as T;
}

/** Sends a request that changes nothing on the test bed. After a lost connection, the request is
 * repeated. */
async function computed<T>(path: string, body: unknown): Promise<T> {
  for (;;) {
    try {
      return await request<T>("POST", path, body);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 0) throw error;
      await connected();
    }
  }
}

export const api = {
  get: <T>(path: string) => request<T>("GET", path),
  post: <T>(path: string, body: unknown = {}) => request<T>("POST", path, body),
  put: <T>(path: string, body: unknown) => request<T>("PUT", path, body),
  patch: <T>(path: string, body: unknown) => request<T>("PATCH", path, body),
  remove: (path: string) => request<void>("DELETE", path),
  computed,
};
