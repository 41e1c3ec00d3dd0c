package evidence

import "strings"

// A Kind is what a finding is, as result.json and the table of known bugs name it. The check of service-liveness has
// the kinds of [Lack].
type Kind string

// Words writes the kind for a sentence.
func (k Kind) Words() string { return strings.ReplaceAll(string(k), "-", " ") }

// Kinds of findings of service-exclusion: a grant or a hold that the servers do not back.
const (
	KindGrantWithoutZnode     Kind = "grant-without-znode"
	KindGrantOfAnotherSession Kind = "grant-of-another-session"
	KindGrantBeforeEligible   Kind = "grant-before-eligible"
	KindGrantAfterZnode       Kind = "grant-after-znode"
	KindGrantShortOfLeases    Kind = "grant-short-of-leases"
	KindGrantSharesZnode      Kind = "grant-shares-znode"
	KindHoldOutlivedZnode     Kind = "hold-outlived-znode"
	KindLostUnreported        Kind = "lost-unreported"
)

// KindOverlap is the kind of the findings of belief-exclusion.
const KindOverlap Kind = "overlap"

// Kinds of findings of effect: accesses of outdated holds, and what became of the data.
const (
	KindStaleAccepted    Kind = "stale-accepted"
	KindStaleRejected    Kind = "stale-rejected"
	KindFalseRejection   Kind = "false-rejection"
	KindAcceptedAfterEnd Kind = "accepted-after-end"
	KindWriteUnderRead   Kind = "write-under-read"
	KindLostUpdate       Kind = "lost-update"
	KindTornRead         Kind = "torn-read"
	KindStaleRead        Kind = "stale-read"
	KindCrowded          Kind = "crowded"
	KindAccounting       Kind = "accounting"
	KindUsedAfterExpiry  Kind = "used-after-expiry"
	KindUsedAfterRelease Kind = "used-after-release"
	KindUsedAfterLoss    Kind = "used-after-loss"
)

// Kinds of findings of tokens.
const (
	KindTokenMissing Kind = "token-missing"
	KindTokenReused  Kind = "token-reused"
	KindTokenFell    Kind = "token-fell"
)

// KindInversion is the kind of the findings of fairness.
const KindInversion Kind = "inversion"

// Kinds of findings of liveness.
const (
	KindStall            Kind = "stall"
	KindDeadlock         Kind = "deadlock"
	KindOrphan           Kind = "orphan"
	KindLeakedLease      Kind = "leaked-lease"
	KindUnnoticed        Kind = "unnoticed"
	KindSlowHandOff      Kind = "slow-hand-off"
	KindPassedOver       Kind = "passed-over"
	KindNoProgress       Kind = "no-progress"
	KindRefused          Kind = "refused"
	KindFailing          Kind = "failing"
	KindLostWithoutCause Kind = "lost-without-cause"
	KindReleaseStall     Kind = "release-stall"
)
