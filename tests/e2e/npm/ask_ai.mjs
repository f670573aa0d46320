// Asks the gateway with the Vercel AI SDK by each API that it speaks; prints what came as JSON.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateText, jsonSchema, streamText, tool } from "ai";

const [baseURL, chatModel, embeddingModel] = process.argv.slice(2);
const apiKey = process.env.TURNOUT_KEY;
const openai = createOpenAI({ baseURL, apiKey });
const anthropic = createAnthropic({ baseURL, apiKey });
const compatible = createOpenAICompatible({ name: "turnout", baseURL, apiKey, includeUsage: true });
const apis = {
  chat: openai.chat(chatModel),
  responses: openai.responses(chatModel),
  messages: anthropic(chatModel),
  compatible: compatible(chatModel),
};
const ask = { prompt: "Name a color.", maxOutputTokens: 12, temperature: 0, maxRetries: 0 };
const told = {};
for (const [name, model] of Object.entries(apis)) {
  const whole = await generateText({ model, ...ask });
  const stream = streamText({ model, ...ask });
  let streamed = "";
  for await (const text of stream.textStream) streamed += text;
  const usage = await stream.usage;
  told[name] = {
    whole: whole.text,
    streamed,
    finish: [whole.finishReason, await stream.finishReason],
    tokens: [whole.usage.outputTokens, usage.outputTokens],
  };
}
const weather = tool({
  description: "Get the weather of a city",
  inputSchema: jsonSchema({
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  }),
});
const called = {};
for (const name of ["chat", "responses", "messages"]) {
  const { toolCalls } = await generateText({
    model: apis[name],
    ...ask,
    prompt: "What is the weather in Paris?",
    maxOutputTokens: 60,
    tools: { get_weather: weather },
    toolChoice: { type: "tool", toolName: "get_weather" },
  });
  called[name] = toolCalls.map((call) => [call.toolName, call.input]);
}
const { embeddings, usage } = await embedMany({
  model: openai.embedding(embeddingModel),
  values: ["red", "blue"],
  maxRetries: 0,
});
let error = null;
try {
  await generateText({ model: openai.chat("nobody"), ...ask });
} catch (failure) {
  error = { isCall: APICallError.isInstance(failure), status: failure.statusCode };
}
const vectors = { lengths: embeddings.map((each) => each.length), tokens: usage.tokens };
console.log(JSON.stringify({ told, called, vectors, error }));
