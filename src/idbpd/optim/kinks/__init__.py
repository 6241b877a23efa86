"""Where the worst case is not unique: a bundle of several worst cases gives the direction and the certificate."""
