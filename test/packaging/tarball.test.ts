import * as esbuild from "esbuild"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pack, type Packed, run } from "../../scripts/pack.ts"
import { find } from "../docs/blocks.ts"

// What npm's package "node" would fetch by an install script: the binary alone.
const node22 = `node-${process.platform}-${process.arch}`

const project = mkdtempSync(join(tmpdir(), "reprise-consumer-"))
const write = (path: string, content: unknown) =>
  writeFileSync(join(project, path), typeof content === "string" ? content : JSON.stringify(content))

describe("the tarballs, installed by npm", () => {
  let packages: ReadonlyArray<Packed>
  let specifiers: ReadonlyArray<string>
  /** Those of the packages that are for a browser too: SQLite is part of Node.js. */
  let anywhere: ReadonlyArray<string>
  /** The README's first example. */
  let code: ReadonlyArray<string>

  beforeAll(() => {
    packages = pack(project)
    specifiers = packages.flatMap(({ entrypoints, name }) =>
      entrypoints.map((entrypoint) => name + entrypoint.slice(1))
    )
    anywhere = specifiers.filter((specifier) => !/^@reprise\/sqlite(?:\/|$)/.test(specifier))
    write("package.json", {
      private: true,
      type: "module",
      dependencies: {
        ...Object.fromEntries(packages.map(({ name, tarball }) => [name, `file:${tarball}`])),
        effect: "4.1.0",
        typescript: "7.0.2",
        [node22]: "22.23.3"
      }
    })
    run(project, "npm", "install", "--no-audit", "--no-fund", "--prefer-offline")
    const example = find("README.md", readFileSync("README.md", "utf8")).blocks.find(({ language }) =>
      language === "ts"
    )
    code = example?.code ?? []
    write("example.ts", code.join("\n"))
  })

  afterAll(() => rmSync(project, { recursive: true, force: true }))

  it("type-check for a strict consumer who checks libraries too", () => {
    mkdirSync(join(project, "types"))
    write("types/all.ts", specifiers.map((path, index) => `export * as M${index} from "${path}"\n`).join(""))
    write("tsconfig.json", {
      compilerOptions: {
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noEmit: true,
        module: "nodenext",
        target: "es2023",
        // The DOM is for Effect's own declarations.
        lib: ["es2023", "dom", "dom.iterable"],
        types: []
      },
      include: ["types/*.ts", "example.ts"]
    })
    expect(run(project, join("node_modules", ".bin", "tsc"), "-p", ".")).toBe("")
  })

  it.for(
    [
      ["22", join(project, "node_modules", node22, "bin", "node")],
      ["24", process.execPath]
    ] as const
  )("run the README's first example on Node %s, and print what it shows", ([version, node]) => {
    expect(run(project, node, "--version")).toMatch(new RegExp(`^v${version}\\.`))
    const shown = code.flatMap((line) => /\/\/ => (.*)$/.exec(line)?.[1] ?? [])
    expect(shown).not.toEqual([])
    expect(run(project, node, "example.ts").trimEnd().split("\n")).toEqual(shown)
  })

  it("load every entry point, and refuse internals", () => {
    run(
      project,
      process.execPath,
      "--input-type=module",
      "--eval",
      specifiers.map((path) => `import "${path}"`).join("\n")
    )
    for (const { name } of packages) {
      const internal = `import "${name}/internal/anything"`
      expect(() => run(project, process.execPath, "--input-type=module", "--eval", internal))
        .toThrow("ERR_PACKAGE_PATH_NOT_EXPORTED")
    }
  })

  it("import effect and each other, nothing else", async () => {
    const { metafile } = await esbuild.build({
      stdin: { contents: specifiers.map((path) => `import "${path}"`).join("\n"), resolveDir: project },
      bundle: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "browser",
      ignoreAnnotations: true,
      external: ["effect", "node:sqlite"]
    })
    const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports)
    const outside = imported.filter(({ external }) => external === true).map(({ path }) => path)
    expect(outside).not.toHaveLength(0)
    expect(outside.filter((path) => !/^(?:effect(?:\/.*)?|node:sqlite)$/.test(path))).toEqual([])
  })

  it("bundle for a browser", async () => {
    const { outputFiles } = await esbuild.build({
      stdin: {
        contents: anywhere.map((path, index) => `export * as M${index} from "${path}"`).join("\n"),
        resolveDir: project
      },
      bundle: true,
      write: false,
      format: "esm",
      platform: "browser",
      logLevel: "silent"
    })
    expect(outputFiles).toHaveLength(1)
  })
})
