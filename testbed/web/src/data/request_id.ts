// Unique identifiers of requests. crypto.randomUUID is unavailable on pages that a remote machine
// serves without TLS.

export function requestId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((one) => one.toString(16).padStart(2, "0"))
    .join("");
}
