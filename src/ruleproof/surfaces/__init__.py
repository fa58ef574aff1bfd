"""People, agents and frameworks in; translate, decide nothing."""
