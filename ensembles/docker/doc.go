// Package docker makes labs of Docker containers.
//
// In flow: the hosts of a lab. Out flow: an [ensembles.Place] with a container for each host, on a network of its own;
// and the images that the containers need.
package docker
