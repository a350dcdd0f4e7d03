"""What makes training fast: nobody who changes a method opens this package.

Written-out layers, batch norm, dropout, Adam, random bits and graph replay. The engine and the base
class of network methods import from here; nothing else does.
"""
