// The openai package for Node.
import OpenAI from "openai";
import { apiKey, baseURL, serve, weather } from "./_cases.mjs";

const client = new OpenAI({ baseURL, apiKey });
const tool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Tell the weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

async function once(case_, messages) {
  const request = { model: case_.model, messages, ...(case_.tools ? { tools: [tool] } : {}) };
  if (!case_.stream) return (await client.chat.completions.create(request)).choices[0].message;
  return (await client.chat.completions.stream(request).finalChatCompletion()).choices[0].message;
}

await serve(async (case_) => {
  const messages = [...case_.messages];
  const called = [];
  for (;;) {
    const row = await once(case_, messages);
    if (!row.tool_calls?.length) return { text: row.content, called };
    messages.push({ role: "assistant", content: row.content, tool_calls: row.tool_calls });
    for (const call of row.tool_calls) {
      called.push(JSON.parse(call.function.arguments));
      messages.push({ role: "tool", tool_call_id: call.id, content: weather(called.at(-1)) });
    }
  }
});
