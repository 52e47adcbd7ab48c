"""Privacy filters beyond one accounting: Rényi privacy over several orders, and (ε, δ)
mechanisms of other makers.
"""
