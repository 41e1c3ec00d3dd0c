// Package drivercheck tries a lock's command case by case, and says in words what is wrong with it.
//
// In flow: a command that speaks the lock protocol of package foreign. Out flow: one [Result] for each case: whether it
// keeps to the protocol, whether its lock excludes, hands over, can be given up and tried, and what it tells of a
// session that is over.
//
// The command finds a ZooKeeper service in memory at the servers that it is told, or a way through this process to an
// ensemble, so a case can break connections, end sessions and look at the znodes. If the command makes no session
// there, because its lock is elsewhere, the cases that need one are left out.
package drivercheck
