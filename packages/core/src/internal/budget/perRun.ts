/** How many retries one run may take, so that a single operation does not use up what all share. */

/** `share` of the balance, but `least`; a share of 1 is no limit. Source: Finagle's `maxRetriesPerReq`. */
export const ceiling = (share: number, balance: number, least = 1): number =>
  share === 1 ? Infinity : Math.max(least, Math.ceil(share * balance))
