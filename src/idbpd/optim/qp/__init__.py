"""Small quadratic programs: multipliers, certificates, and the models of inner maximisation."""
