/**
 * Every code the built-in readers know, by the answer it gets: one table for all systems, whose codes do not collide.
 *
 * Every row is held against the reference in test/fixtures/transience.json by test/core/Transience.table.test.ts, which
 * gives the reason for each choice that the reference leaves open. Those of Redis, by test/core/Transience.redis.test.ts.
 */
import type { Applied, Transience } from "../../Transience.ts"

/** What a code means, whatever error carries it. */
export interface Outcome {
  readonly transience: Transience
  readonly applied: Applied
  readonly throttled: boolean
  /** What it means when the failing system also said how long to wait. */
  readonly hinted?: Outcome
}

/** Worth another attempt, and the failed one did nothing. */
export const transient: Outcome = { transience: "transient", applied: "no", throttled: false }

/** Worth another attempt, but the failed one may have taken effect. */
export const transientMaybe: Outcome = { transience: "transient", applied: "maybe", throttled: false }

/** Refused under load: worth another attempt, later. */
export const shed: Outcome = { transience: "transient", applied: "no", throttled: true }

/** Never worth another attempt, and the failed one did nothing. */
export const terminal: Outcome = { transience: "terminal", applied: "no", throttled: false }

/** Never worth another attempt, although the failed one may have taken effect. */
export const terminalMaybe: Outcome = { transience: "terminal", applied: "maybe", throttled: false }

const rows: ReadonlyArray<readonly [outcome: Outcome, codes: string]> = [
  [
    transient,
    // Node.js: libuv and c-ares, undici, net, http2, TLS
    "ECONNREFUSED ENOTFOUND EAI_AGAIN EAI_MEMORY ESERVFAIL ETIMEOUT EBADRESP EHOSTUNREACH ENETUNREACH ENETDOWN EHOSTDOWN "
    + "ENONET EMFILE ENFILE ENOBUFS ENOMEM EAGAIN EBUSY UND_ERR_CONNECT_TIMEOUT UND_ERR_PRX_TLS UND_ERR_PRX_CONN "
    + "UND_ERR_SOCKS5 ERR_SOCKET_CONNECTION_TIMEOUT ERR_SOCKET_CLOSED_BEFORE_CONNECTION ERR_HTTP2_GOAWAY_SESSION "
    + "ERR_HTTP2_INVALID_SESSION ERR_TLS_HANDSHAKE_TIMEOUT ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR "
    // SQLSTATE, HTTP, Effect
    + "55P03 55006 08001 08003 08004 57P03 57P05 57014 25P03 25P04 72000 408 421 425 521 523 525 "
    + "CircuitOpen/key CircuitHalfOpen/key "
    // Redis
    + "LOADING/redis BUSY/redis CLUSTERDOWN/redis TRYAGAIN/redis MASTERDOWN/redis READONLY/redis NOREPLICAS/redis "
    + "OOM/redis UNBLOCKED/redis ClientOfflineError/redis ConnectionTimeoutError/redis RootNodesUnavailableError/redis"
  ],
  [
    transientMaybe,
    "ECONNRESET EPIPE ETIMEDOUT ECONNABORTED EINTR ENOTCONN ESHUTDOWN UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT "
    + "UND_ERR_SOCKET UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_INFO ERR_STREAM_PREMATURE_CLOSE ERR_SOCKET_CLOSED "
    + "ERR_HTTP2_STREAM_ERROR ERR_HTTP2_SESSION_ERROR ERR_HTTP2_STREAM_CANCEL ERR_HTTP2_ERROR HPE_CLOSED_CONNECTION "
    + "HPE_INVALID_EOF_STATE HPE_INTERNAL "
    // SQLSTATE, gRPC, Effect
    + "40003 58000 58030 14 TransportError/request "
    // Redis
    + "SocketClosedUnexpectedlyError/redis SocketTimeoutError/redis TimeoutError/redis"
  ],
  [shed, "420 429 529 RateLimitExceeded/limit"],
  [
    terminal,
    "ENODATA EREFUSED EFORMERR ENOTIMP EBADNAME ECANCELLED EACCES EPERM EINVAL ENOENT EROFS EPROTO EADDRINUSE "
    + "EADDRNOTAVAIL UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_CRL INVALID_CA INVALID_PURPOSE PATH_LENGTH_EXCEEDED "
    + "HOSTNAME_MISMATCH "
    // SQLSTATE, HTTP, gRPC, Effect
    + "40002 53400 57P04 501 505 506 510 511 526 561 3 5 6 7 9 10 11 12 16 EncodeError/request InvalidUrlError/request "
    // Redis
    + "NOAUTH/redis WRONGPASS/redis NOPROTO/redis NOSCRIPT/redis EXECABORT/redis CROSSSLOT/redis MOVED/redis ASK/redis "
    + "MISCONF/redis ClientClosedError/redis"
  ],
  [
    terminalMaybe,
    "ENOSPC UND_ERR_ABORTED UND_ERR_ABORT UND_ERR_RES_EXCEEDED_MAX_SIZE UND_ERR_HEADERS_OVERFLOW "
    // SQLSTATE, HTTP, gRPC, Effect
    + "08P01 57000 444 460 499 507 508 1 2 4 13 15 DecodeError/request EmptyBodyError/request "
    // Redis
    + "ERR/redis WRONGTYPE/redis NOPERM/redis BUSYGROUP/redis BUSYKEY/redis NOGROUP/redis DisconnectsClientError/redis"
  ],
  // Normally refused before any work; surely so when the failing system said when to come back.
  [{ transience: "transient", applied: "maybe", throttled: true, hinted: shed }, "503"],
  // Refused for a reason that stays, unless the failing system said when to come back.
  [{ transience: "terminal", applied: "no", throttled: false, hinted: transient }, "409 413 423 530"],
  [{ transience: "terminal", applied: "no", throttled: false, hinted: shed }, "403"],
  // A limit that may last for hours. 8 is gRPC's RESOURCE_EXHAUSTED.
  [{ transience: "terminal", applied: "no", throttled: true, hinted: shed }, "509 8"]
]

let table: Map<string, Outcome> | undefined

/** The outcome of a code; the table is built at the first question. */
export const lookup = (code: string): Outcome | undefined => {
  table ??= new Map(rows.flatMap(([outcome, codes]) => codes.split(" ").map((code) => [code, outcome] as const)))
  return table.get(code)
}
