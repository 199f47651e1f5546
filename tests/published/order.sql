-- ORDER BY without LIMIT: all rows of the result, in its order.
SELECT id, name FROM staff ORDER BY id;
SELECT id, name FROM staff ORDER BY id DESC;
SELECT name, salary, id FROM staff ORDER BY salary, id;
SELECT name, salary, id FROM staff ORDER BY salary DESC, id DESC;
SELECT name, salary, id FROM staff ORDER BY salary NULLS FIRST, name NULLS FIRST, id;
SELECT name, salary, id FROM staff ORDER BY salary DESC NULLS LAST, 3;
SELECT name FROM staff ORDER BY 1 DESC;
SELECT name AS n, salary * 2 AS twice FROM staff ORDER BY twice DESC, n;
-- By columns and expressions that are not in the result.
SELECT name FROM staff ORDER BY id;
SELECT name FROM staff ORDER BY hired DESC NULLS LAST, id DESC;
SELECT id FROM staff ORDER BY COALESCE(bonus, 0) + salary, id;
SELECT id FROM staff ORDER BY CASE WHEN dept = 20 THEN 0 ELSE 1 END, CHAR_LENGTH(name) DESC, id;
SELECT s.name FROM staff s ORDER BY (SELECT MAX(d.name) FROM dept d WHERE d.id = s.dept), s.id;
SELECT name FROM staff ORDER BY -id;
-- All kinds of values.
SELECT bonus, id FROM staff ORDER BY bonus, id;
SELECT hired, id FROM staff ORDER BY hired, id DESC;
SELECT sold, id FROM sales ORDER BY sold DESC, id;
SELECT price, id FROM sales ORDER BY price DESC, id;
SELECT p, q, n FROM flags ORDER BY p DESC, q, n;
SELECT n FROM flags ORDER BY p AND q, p OR q, n;
-- Equal rows stay as many as they are.
SELECT item FROM sales ORDER BY item;
SELECT price FROM sales ORDER BY price NULLS FIRST;
-- Groups, and what is ordered by is an aggregate or a key that is not in the result.
SELECT dept, COUNT(*) AS n FROM staff GROUP BY dept ORDER BY dept;
SELECT dept, SUM(salary) AS total FROM staff GROUP BY dept ORDER BY total DESC, dept;
SELECT dept FROM staff GROUP BY dept ORDER BY COUNT(*) DESC, MIN(id);
SELECT COUNT(*) AS n FROM staff GROUP BY dept ORDER BY dept DESC;
SELECT dept, AVG(salary) AS mean FROM staff GROUP BY dept HAVING COUNT(*) > 1 ORDER BY AVG(salary);
SELECT item, COUNT(DISTINCT staff) AS n FROM sales GROUP BY item ORDER BY 2 DESC, 1;
SELECT SUM(quantity) AS n FROM sales ORDER BY n;
SELECT dept, boss, COUNT(*) AS n FROM staff GROUP BY ROLLUP (dept, boss) ORDER BY dept, boss, n;
-- Joins of every kind.
SELECT s.name, d.name AS of FROM staff s JOIN dept d ON d.id = s.dept ORDER BY d.name, s.name;
SELECT s.id, d.id AS dept FROM staff s LEFT JOIN dept d ON d.id = s.dept ORDER BY d.id, s.id;
SELECT s.id, d.id AS dept FROM staff s RIGHT JOIN dept d ON d.id = s.dept ORDER BY d.id DESC, s.id;
SELECT s.id, d.id AS dept FROM staff s FULL JOIN dept d ON d.id = s.dept ORDER BY s.id, d.id;
SELECT s.id, d.id AS dept FROM staff s, dept d WHERE s.id > d.id / 10 ORDER BY d.id, s.id DESC;
SELECT d.name, COUNT(s.id) AS n FROM dept d LEFT JOIN staff s ON s.dept = d.id GROUP BY d.name ORDER BY n DESC, d.name;
SELECT name FROM staff s WHERE EXISTS (SELECT 1 FROM sales x WHERE x.staff = s.id) ORDER BY name DESC;
SELECT name FROM staff s WHERE NOT EXISTS (SELECT 1 FROM sales x WHERE x.staff = s.id) ORDER BY name;
SELECT id FROM staff WHERE salary > (SELECT AVG(salary) FROM staff) ORDER BY id DESC;
-- DISTINCT, set operations, VALUES, common tables, subqueries.
SELECT DISTINCT dept FROM staff ORDER BY dept DESC;
SELECT DISTINCT salary / 100 AS x FROM staff ORDER BY salary / 100;
SELECT dept FROM staff UNION SELECT id FROM dept ORDER BY dept;
SELECT dept FROM staff UNION ALL SELECT id FROM dept ORDER BY 1 DESC;
SELECT dept FROM staff EXCEPT SELECT id FROM dept ORDER BY dept;
SELECT dept FROM staff INTERSECT ALL SELECT id FROM dept ORDER BY dept DESC;
(SELECT id FROM dept ORDER BY name) UNION ALL (SELECT id FROM staff WHERE id < 3 ORDER BY 1 DESC) ORDER BY id;
SELECT x, y FROM (VALUES (2, 'b'), (1, 'c'), (2, 'a'), (NULL, 'd')) AS v (x, y) ORDER BY x, y;
WITH sums AS (SELECT staff, SUM(quantity) AS n FROM sales GROUP BY staff) SELECT staff, n FROM sums ORDER BY n DESC, staff;
SELECT n, id FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY salary, id) AS n FROM staff) t ORDER BY n DESC;
SELECT id, SUM(salary) OVER (ORDER BY id) AS total FROM staff ORDER BY id DESC;
SELECT id, LAG(id) OVER (ORDER BY salary, id) AS before FROM staff ORDER BY before, id;
(SELECT id FROM staff ORDER BY id DESC);
SELECT name FROM nothing ORDER BY name;
