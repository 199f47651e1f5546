-- Reports in the manner of decision support and web analytics: many clauses at once.
SELECT d.city, EXTRACT(MONTH FROM x.sold) AS month, SUM(x.quantity * x.price) AS revenue, COUNT(DISTINCT x.staff) AS sellers
  FROM sales x JOIN staff s ON s.id = x.staff JOIN dept d ON d.id = s.dept
  WHERE x.sold BETWEEN TIMESTAMP '2024-02-01 00:00:00' AND TIMESTAMP '2024-02-28 23:59:59'
  GROUP BY d.city, EXTRACT(MONTH FROM x.sold) HAVING SUM(x.quantity) > 1;
SELECT item, SUM(quantity) AS n, SUM(price) AS base, SUM(price * (1 - 0.05)) AS reduced, AVG(quantity) AS mean, COUNT(*) AS orders
  FROM sales WHERE sold <= TIMESTAMP '2024-02-29 00:00:00' - INTERVAL '1' DAY GROUP BY item;
SELECT x.item, x.price, s.name FROM sales x JOIN staff s ON s.id = x.staff
  WHERE x.price = (SELECT MIN(y.price) FROM sales y WHERE y.item = x.item) AND s.dept IN (10, 20);
SELECT CASE WHEN item IN ('nut', 'bolt') THEN 'small' ELSE 'large' END AS size,
  SUM(CASE WHEN price > 5 THEN quantity ELSE 0 END) AS dear, SUM(CASE WHEN price <= 5 THEN quantity ELSE 0 END) AS cheap
  FROM sales GROUP BY CASE WHEN item IN ('nut', 'bolt') THEN 'small' ELSE 'large' END;
SELECT 100.00 * SUM(CASE WHEN item = 'nut' THEN quantity ELSE 0 END) / SUM(quantity) AS share FROM sales WHERE quantity > 0;
SELECT n, COUNT(*) AS staff FROM (SELECT s.id, COUNT(x.id) AS n FROM staff s LEFT JOIN sales x ON x.staff = s.id AND x.item <> 'gear' GROUP BY s.id) t GROUP BY n;
WITH revenue AS (SELECT staff, SUM(quantity * price) AS total FROM sales GROUP BY staff)
  SELECT s.id, s.name, r.total FROM staff s JOIN revenue r ON r.staff = s.id WHERE r.total = (SELECT MAX(total) FROM revenue);
SELECT COUNT(DISTINCT s.id) AS n FROM staff s JOIN sales x ON x.staff = s.id
  WHERE s.id NOT IN (SELECT t.boss FROM staff t WHERE t.boss IS NOT NULL AND t.name LIKE 'G%');
SELECT AVG(x.price) AS mean FROM sales x WHERE x.quantity < (SELECT 0.5 * AVG(y.quantity) FROM sales y WHERE y.item = x.item);
SELECT s.name, s.id, x.id AS sale, x.price, SUM(x.quantity) AS n FROM staff s, sales x
  WHERE x.id IN (SELECT id FROM sales GROUP BY id HAVING SUM(quantity) > 3) AND s.id = x.staff GROUP BY s.name, s.id, x.id, x.price;
SELECT SUM(x.price * (1 - 0.1)) AS revenue FROM sales x, staff s
  WHERE (s.id = x.staff AND s.dept = 20 AND x.quantity BETWEEN 1 AND 5 AND x.item IN ('nut', 'bolt'))
  OR (s.id = x.staff AND s.dept = 10 AND x.quantity BETWEEN -5 AND 2 AND x.item LIKE '%t');
SELECT s.name FROM staff s WHERE s.id IN (SELECT x.staff FROM sales x WHERE x.item LIKE 'n%' AND x.quantity > (SELECT 0.5 * SUM(y.quantity) FROM sales y WHERE y.item = x.item AND y.staff = x.staff));
SELECT s.name, COUNT(*) AS waits FROM staff s, sales a WHERE s.id = a.staff
  AND EXISTS (SELECT 1 FROM sales b WHERE b.item = a.item AND b.staff <> a.staff)
  AND NOT EXISTS (SELECT 1 FROM sales c WHERE c.item = a.item AND c.staff <> a.staff AND c.price > a.price) GROUP BY s.name;
SELECT SUBSTRING(name FROM 1 FOR 1) AS code, COUNT(*) AS n, SUM(salary) AS total FROM staff
  WHERE SUBSTRING(name FROM 1 FOR 1) IN ('A', 'B', 'C', 'G') AND salary > (SELECT AVG(salary) FROM staff WHERE salary > 0 AND dept < 20)
  AND NOT EXISTS (SELECT 1 FROM sales WHERE staff = staff.boss) GROUP BY SUBSTRING(name FROM 1 FOR 1);
SELECT DATE_TRUNC('day', sold) AS day, COUNT(*) AS n, COUNT(DISTINCT item) AS items, MIN(sold) AS first, MAX(sold) AS last FROM sales GROUP BY DATE_TRUNC('day', sold);
SELECT EXTRACT(HOUR FROM sold) AS h, SUM(quantity) AS n FROM sales WHERE item <> '' GROUP BY EXTRACT(HOUR FROM sold) ORDER BY n DESC, h LIMIT 3;
SELECT item, COUNT(*) AS c FROM sales WHERE item <> '' GROUP BY item ORDER BY c DESC, item LIMIT 2;
SELECT staff, item, COUNT(*) AS n FROM sales GROUP BY staff, item ORDER BY COUNT(*) DESC, staff, item LIMIT 4;
SELECT staff, COUNT(*) AS c, SUM(CHAR_LENGTH(item)) AS l, AVG(quantity) AS q FROM sales GROUP BY staff HAVING COUNT(*) > 1 ORDER BY c DESC, staff LIMIT 2;
SELECT SUM(quantity), SUM(quantity + 1) AS b, SUM(quantity + 2) AS c FROM sales;
SELECT MIN(sold) AS a, MAX(sold) AS b, COUNT(*) AS c FROM sales WHERE item IS NOT NULL;
SELECT REGEXP_REPLACE(item, '^(.).*$', '\1') AS k, COUNT(*) AS n FROM sales WHERE item <> '' GROUP BY REGEXP_REPLACE(item, '^(.).*$', '\1');
SELECT day, n, SUM(n) OVER (ORDER BY day) AS running, n - LAG(n) OVER (ORDER BY day) AS change
  FROM (SELECT CAST(sold AS DATE) AS day, COUNT(*) AS n FROM sales GROUP BY CAST(sold AS DATE)) t;
SELECT dept, name, salary, salary * 100.0 / SUM(salary) OVER (PARTITION BY dept) AS percent FROM staff WHERE salary IS NOT NULL;
SELECT s.dept, s.name, x.total FROM staff s JOIN (SELECT staff, SUM(quantity * price) AS total, ROW_NUMBER() OVER (ORDER BY SUM(quantity * price) DESC) AS place FROM sales WHERE price IS NOT NULL AND quantity IS NOT NULL GROUP BY staff) x ON x.staff = s.id WHERE x.place <= 2;
WITH first AS (SELECT staff, MIN(sold) AS since FROM sales GROUP BY staff) SELECT CAST(f.since AS DATE) AS cohort, COUNT(DISTINCT x.staff) AS sellers, COUNT(*) AS n FROM sales x JOIN first f ON f.staff = x.staff GROUP BY CAST(f.since AS DATE);
SELECT a.item AS item, b.item AS other, COUNT(*) AS n FROM sales a JOIN sales b ON a.staff = b.staff AND a.item < b.item GROUP BY a.item, b.item;
WITH step1 AS (SELECT DISTINCT staff FROM sales WHERE item = 'nut'), step2 AS (SELECT DISTINCT x.staff FROM sales x JOIN step1 ON step1.staff = x.staff WHERE x.item = 'gear') SELECT (SELECT COUNT(*) FROM step1) AS a, COUNT(*) AS b FROM step2;
SELECT d.name, COALESCE(SUM(CASE WHEN x.item = 'nut' THEN x.quantity END), 0) AS nuts, COALESCE(SUM(CASE WHEN x.item = 'bolt' THEN x.quantity END), 0) AS bolts FROM dept d LEFT JOIN staff s ON s.dept = d.id LEFT JOIN sales x ON x.staff = s.id GROUP BY d.name;
