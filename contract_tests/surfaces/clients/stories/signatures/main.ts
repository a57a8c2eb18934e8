// One delivery a line: method, endpoint, header, body and time; a line with 1 or 0 for each.
import { readFileSync } from "node:fs";
import { isGenuine } from "./signatures.js";

const secret = process.argv[2] ?? "";
for (const line of readFileSync(0, "utf8").trimEnd().split("\n")) {
  const [method = "", webhook = "", header = "", body = "", now = ""] = line.split("\t");
  const text = Buffer.from(header, "base64").toString();
  console.log(Number(isGenuine(method, webhook, secret, text, Buffer.from(body, "base64"), Number(now))));
}
