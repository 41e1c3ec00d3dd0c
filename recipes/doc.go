// Package recipes is locks on ZooKeeper, over one thin session wrapper.
package recipes
