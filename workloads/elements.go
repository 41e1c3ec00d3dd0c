package workloads

// MaxElements is how many elements the resource's lists may have, over all locks of a run: 16 MiB of memory, and a
// history that can be judged in seconds. A run that reaches this number ends there.
const MaxElements = 1 << 20
