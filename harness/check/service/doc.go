// Package service has what looks at the servers and their transaction logs say of the times in which they did not
// serve.
package service
