/** How many retries one run may take, so that a single operation does not use up what all share. */

/** At least 1, and else `share` of the balance; a share of 1 is no limit. Source: Finagle's `maxRetriesPerReq`. */
export const ceiling = (share: number, balance: number): number =>
  share === 1 ? Infinity : Math.max(1, Math.ceil(share * balance))
