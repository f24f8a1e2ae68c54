// A text that no other request has. crypto.randomUUID is missing where the page comes without encryption from another machine.

export function unique(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((one) => one.toString(16).padStart(2, "0"))
    .join("");
}
