// Asks the admin port. The token stays in this tab, and goes as a header: no cookie, no URL.

const KEY = "concertina-token";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => sessionStorage.setItem(KEY, value),
};

function headers() {
  return token.get() ? { Authorization: `Bearer ${token.get()}` } : {};
}

export async function ask(path, { method = "GET", data } = {}) {
  const response = await fetch(path, { method, headers: headers(), body: data && JSON.stringify(data) });
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, body.error?.message ?? response.statusText);
  return body;
}

// EventSource cannot send a header, so the stream is read by hand; it is begun again whenever it breaks.
export async function follow(onEvent, onState) {
  for (let wait = 1; ; wait = Math.min(wait * 2, 30)) {
    try {
      const response = await fetch("/api/events", { headers: headers() });
      if (!response.ok) throw new Refused(response.status, "");
      onState(true);
      wait = 1;
      await read(response.body.pipeThrough(new TextDecoderStream()).getReader(), onEvent);
    } catch (fault) {
      if (fault.status === 401) return;
    }
    onState(false);
    await new Promise((done) => setTimeout(done, wait * 1000));
  }
}

async function read(reader, onEvent) {
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (held + value).split("\n");
    held = lines.pop();
    for (const line of lines) if (line.startsWith("data: ")) onEvent(JSON.parse(line.slice(6)));
  }
}
