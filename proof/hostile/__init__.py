"""Strangers who are hostile in every way that is known, beside a hundred honest endpoints on one
road: each hostility is one small function here, and a new door of the road adds its own."""
