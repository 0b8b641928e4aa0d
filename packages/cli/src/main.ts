#!/usr/bin/env node
/**
 * The `reprise` command.
 */
import { enableCompileCache } from "node:module"

// From the second start on, a third of the start-up time goes.
enableCompileCache()
const { main } = await import("./program.ts")
main(process.argv.slice(2))
