// What every client program does: read cases, ask, tell what came.
import readline from "node:readline";

export const baseURL = process.argv[2];
export const apiKey = "client-key";
export const weather = ({ city }) => `sunny in ${city}`;

export async function serve(ask) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let told;
    try {
      told = await ask(JSON.parse(line));
    } catch (error) {
      const cause = error.lastError ?? error;
      const code = cause.code ?? cause.data?.error?.code ?? null;
      told = { error: cause.constructor.name, status: cause.status ?? cause.statusCode ?? null, code, said: String(cause.message) };
    }
    console.log(JSON.stringify(told));
  }
}
