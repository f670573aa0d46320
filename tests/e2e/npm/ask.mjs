// Asks the gateway once whole and once streamed; prints both answers as JSON.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], maxRetries: 0 });
const ask = {
  model: "small",
  messages: [{ role: "user", content: "Name a color." }],
  max_tokens: 12,
  temperature: 0,
};
const whole = await client.chat.completions.create(ask);
let streamed = "";
let usage = null;
const options = { stream: true, stream_options: { include_usage: true } };
for await (const chunk of await client.chat.completions.create({ ...ask, ...options })) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
let error = null;
try {
  await client.chat.completions.create({ ...ask, model: "nobody" });
} catch (failure) {
  error = { status: failure.status, code: failure.code, type: failure.constructor.name };
}
console.log(JSON.stringify({ whole: whole.choices[0].message.content, streamed, usage, error }));
