"""Med-PMC's technician and patient-actor (Med-PMC, section 3.2)."""
