// Writes packages/core/spec.schema.json, for editors. A test says when it is due.
import { SpecSchema } from "@reprise/core"
import { writeFileSync } from "node:fs"

writeFileSync(
  new URL("../packages/core/spec.schema.json", import.meta.url),
  `${JSON.stringify(SpecSchema.toJsonSchema(), undefined, 2)}\n`
)
