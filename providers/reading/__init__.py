"""How a provider's no is read: unwrap → gather evidence → first matching row of the vendor's table → the
wait.
"""
