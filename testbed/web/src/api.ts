// Requests to the REST interface, whose document is /api/openapi.json.

/** An answer other than success: its status, and a text for the user. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Called when the log-in has ended. */
let loggedOut: () => void = () => undefined;
export function onLogOut(call: () => void): void {
  loggedOut = call;
}

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(`/api${path}`, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refusal(0, "the test bed does not answer");
  }
  if (answer.status === 204) return undefined as T;
  const text = await answer.text();
  let told: { detail?: string };
  try {
    told = JSON.parse(text) as { detail?: string };
  } catch {
    throw new Refusal(answer.status, `the test bed failed (${answer.status})`);
  }
  if (!answer.ok) {
    if (answer.status === 401 && path !== "/session") loggedOut();
    throw new Refusal(answer.status, told.detail ?? `the test bed failed (${answer.status})`);
  }
  return told as T;
}

export const api = {
  get: <T>(path: string) => request<T>("GET", path),
  post: <T>(path: string, body: unknown = {}) => request<T>("POST", path, body),
  put: <T>(path: string, body: unknown) => request<T>("PUT", path, body),
  patch: <T>(path: string, body: unknown) => request<T>("PATCH", path, body),
  remove: (path: string) => request<void>("DELETE", path),
};
