/** The body of a failing response, for profiles that read hints there; the response keeps its own. */

/** As long as any hint needs, and not as long as a server likes. */
const mostBytes = 65_536

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Undefined where it is no JSON, is too long, or breaks off. */
export const jsonOf = async (response: Response): Promise<unknown> => {
  const copy = response.body === null || response.body.locked ? null : response.clone().body
  if (copy === null) return undefined
  const reader = copy.getReader()
  const text = new TextDecoder()
  let json = ""
  let bytes = 0
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return parsed(json + text.decode())
      bytes += value.length
      if (bytes > mostBytes) return undefined
      json += text.decode(value, { stream: true })
    }
  } catch {
    return undefined
  } finally {
    reader.cancel().catch(() => {})
  }
}
