// Package historytest helps tests with raw histories. In flow are a test's events; out flow are the bytes that a
// recorder writes for them.
package historytest
