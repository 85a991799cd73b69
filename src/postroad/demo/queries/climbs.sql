-- How far delivered messages had to climb, and how many tries it took.
select level, count(*), sum(attempts) from history where state = 'delivered' group by level
