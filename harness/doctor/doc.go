// Package doctor finds out what this machine can do.
//
// In flow: the machine, and a lab that is made for the purpose. Out flow: a [Diagnosis], which names what is lacking
// and the commands that provide it.
package doctor
