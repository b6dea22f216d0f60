// The AI SDK with its provider for compatible servers.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { apiKey, baseURL, serve, weather } from "./_cases.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const provider = createOpenAICompatible({ name: "concertina", baseURL, apiKey });

await serve(async (case_) => {
  const called = [];
  const get_weather = tool({
    description: "Tell the weather of a city.",
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
    execute: async (input) => {
      called.push(input);
      return weather(input);
    },
  });
  let failure;
  const options = {
    model: provider(case_.model),
    messages: case_.messages,
    allowSystemInMessages: true,
    stopWhen: stepCountIs(5),
    onError: ({ error }) => (failure = error),
    ...(case_.tools ? { tools: { get_weather } } : {}),
  };
  if (!case_.stream) return { text: (await generateText(options)).text, called };
  const answer = streamText(options);
  let text = "";
  for await (const piece of answer.textStream) text += piece;
  if (failure) throw failure;
  return { text, called };
});
